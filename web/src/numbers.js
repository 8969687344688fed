// Numbers as people read them: three digits.

/** @param {number | null | undefined} value */
export function short(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 0.01) return "<0.01";
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

/** @param {number} bps */
export function rate(bps) {
  return bps >= 1e6 ? `${short(bps / 1e6)} Mbit/s` : `${short(bps / 1e3)} kbit/s`;
}
