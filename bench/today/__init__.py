"""Eight households of today behind six gateways: the page docs/today.md and its pictures, from the sweep `today`."""
