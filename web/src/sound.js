// A high tone for a hit, a low one for a miss.

/** @param {boolean} isHit */
export function beep(isHit) {
  const context = new AudioContext();
  const tone = context.createOscillator();
  const volume = context.createGain();
  tone.frequency.value = isHit ? 880 : 220;
  volume.gain.value = 0.08;
  tone.connect(volume).connect(context.destination);
  tone.start();
  tone.stop(context.currentTime + 0.08);
  tone.onended = () => context.close();
}
