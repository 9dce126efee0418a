/** Whether this machine can draw emoji in colour; where it has no font for them, it draws boxes. */
export function drawsEmoji(): boolean {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 16;
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (!context) return true;
  context.font = '14px system-ui';
  context.textBaseline = 'top';
  context.fillText('🤔', 0, 0);
  const { data } = context.getImageData(0, 0, 16, 16);
  // A box is drawn in the text's own black.
  return data.some((value, at) => at % 4 < 3 && value > 0);
}
