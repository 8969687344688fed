//! Kinds of devices: who uses an application at home.

use super::words::words;

words! {
    /// Kind of device.
    Device "kind of device" {
        /// Desktop computer.
        Pc = "pc",
        /// Game console.
        Console = "console",
        /// Phone.
        Phone = "phone",
        /// Television.
        Tv = "tv",
        /// Laptop.
        Laptop = "laptop",
        /// Tablet.
        Tablet = "tablet",
        /// Camera that sends its pictures away.
        Camera = "camera",
        /// Network storage.
        Nas = "nas",
    }
}
