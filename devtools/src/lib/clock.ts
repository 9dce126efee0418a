/** The server's clock, by which everything is dated: the one here may go wrong. */
let ahead = 0;

/** Milliseconds since the epoch. */
export const now = (): number => Date.now() - ahead;

/** Take in what the server says that the time is: in whole seconds, and some time ago. */
export function heard(date: string | null): void {
  const by = Date.now() - Date.parse(date ?? '');
  if (Math.abs(by - ahead) > 2000) ahead = by;
}
