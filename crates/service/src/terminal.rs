//! A page that is drawn again and again on a screen of its own, and keys that need no Enter.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// A separate screen, without a cursor. Dropping it restores the terminal.
#[derive(Debug)]
pub struct Screen<W: Write> {
    out: W,
}

/// How the terminal was before a screen was opened.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// What Ctrl-C does on a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CtrlC {
    /// It is a key as others.
    Key,
    /// It sends a signal.
    Signal,
}

impl<W: Write> Screen<W> {
    /// Opens it on `out`. Keys come from standard input.
    ///
    /// # Errors
    /// One of them is no terminal.
    pub fn open(out: W, ctrl_c: CtrlC) -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut modes = before.clone();
        modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        if ctrl_c == CtrlC::Key {
            modes.local_modes.remove(LocalModes::ISIG);
        }
        tcsetattr(io::stdin(), OptionalActions::Now, &modes)?;
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        let mut this = Self { out };
        send(&mut this.out, "\x1b[?1049h\x1b[?25l")?;
        Ok(this)
    }

    /// Draws a page over the one before.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn draw(&mut self, page: &str) -> io::Result<()> {
        // Cursor to the top left, then the page; the rest of each line and of the screen is cleared.
        let page = page.replace('\n', "\x1b[K\r\n");
        send(&mut self.out, &format!("\x1b[H{page}\x1b[K\x1b[J"))
    }
}

impl<W: Write> Drop for Screen<W> {
    fn drop(&mut self) {
        leave(&mut self.out);
    }
}

/// Restores the terminal if a screen is open. A thread that ends the process calls it, because no screen is dropped then.
pub fn leave(mut out: impl Write) {
    if let Some(before) = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take() {
        let _ = send(&mut out, "\x1b[?25h\x1b[?1049l");
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
}

fn send(out: &mut impl Write, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Waits at most `longest` for keys, and returns what was typed. `None` if nothing can be typed any more.
///
/// # Errors
/// The terminal is gone.
pub fn typed(longest: Duration) -> io::Result<Option<Vec<u8>>> {
    let wait = Timespec::try_from(longest).ok();
    let input = io::stdin();
    let mut sources = [PollFd::new(&input, PollFlags::IN)];
    match poll(&mut sources, wait.as_ref()) {
        Ok(0) | Err(Errno::INTR) => return Ok(Some(Vec::new())),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    let mut bytes = [0; 64];
    match rustix::io::read(&input, &mut bytes)? {
        0 => Ok(None),
        count => Ok(Some(bytes[..count].to_vec())),
    }
}

/// Columns and lines of a terminal; `None` if it is none, or does not know.
pub fn size(terminal: impl AsFd) -> Option<[usize; 2]> {
    let size = tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0).then(|| [usize::from(size.ws_col), usize::from(size.ws_row)])
}
