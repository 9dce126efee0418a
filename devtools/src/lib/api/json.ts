/** JSON in which a whole number is never rounded: one that a `number` cannot hold is a bigint, and written as it came. */

interface Exact {
  rawJSON?: (text: string) => unknown;
  parse: (text: string, reviver: (key: string, value: unknown, context?: { source?: string }) => unknown) => unknown;
}
const exact = JSON as unknown as Exact;

/** So many digits in a row may be a number that is rounded; to look at each value costs too much elsewhere. */
const LONG = /\d{16}/;
const WHOLE = /^-?\d+$/;

Object.defineProperty(BigInt.prototype, 'toJSON', {
  value(this: bigint): unknown {
    return exact.rawJSON?.(String(this)) ?? Number(this);
  },
  configurable: true,
});

/** The number that digits say, exactly. */
export const wholeNumber = (digits: string): number | bigint => (Number.isSafeInteger(Number(digits)) ? Number(digits) : BigInt(digits));

/** Read JSON; throws a SyntaxError where it is none. */
export function readJson(text: string): unknown {
  if (!LONG.test(text)) return JSON.parse(text);
  return exact.parse(text, (_key, value, context) =>
    typeof value === 'number' && context?.source !== undefined && WHOLE.test(context.source) ? wholeNumber(context.source) : value,
  );
}
