// Bytes as text. Five letters stand for four bytes, so the text is a quarter longer; in base 64 it would be a third longer.

/** A digit of base 85 is the letter at this code plus the digit. `<` is left out: it could end a script. */
const FIRST = "(".charCodeAt(0);
const LEFT_OUT = "<".charCodeAt(0) - FIRST;

/**
 * @param {Uint8Array} bytes
 * @returns {string} their number, a space, and the letters
 */
export function toLetters(bytes) {
  const padded = new Uint8Array(Math.ceil(bytes.length / 4) * 4);
  padded.set(bytes);
  const view = new DataView(padded.buffer);
  const words = Array.from({ length: padded.length / 4 }, (_, word) => {
    let rest = view.getUint32(4 * word);
    let letters = "";
    for (let place = 0; place < 5; place++) {
      const digit = rest % 85;
      rest = (rest - digit) / 85;
      letters = String.fromCharCode(FIRST + digit + (digit < LEFT_OUT ? 0 : 1)) + letters;
    }
    return letters;
  });
  return `${bytes.length} ${words.join("")}`;
}

/**
 * @param {string} text of `toLetters`
 */
export function fromLetters(text) {
  const start = text.indexOf(" ") + 1;
  const view = new DataView(new ArrayBuffer(((text.length - start) / 5) * 4));
  for (let word = 0; 4 * word < view.byteLength; word++) {
    let value = 0;
    for (let place = 0; place < 5; place++) {
      const letter = text.charCodeAt(start + 5 * word + place) - FIRST;
      value = value * 85 + letter - (letter < LEFT_OUT ? 0 : 1);
    }
    view.setUint32(4 * word, value);
  }
  return new Uint8Array(view.buffer, 0, Number(text.slice(0, start)));
}
