// Parses numbers from bytes. Plain decimals up to 15 digits are exact by one operation on two exact doubles;
// others use Number().

const ZERO = 48;
const NINE = 57;
const POINT = 46;
const MINUS = 45;
const PLUS = 43;
const MAX_EXACT_DIGITS = 15;
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const POWERS_OF_TEN = Float64Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));

const SPECIAL: Readonly<Record<string, number>> = {
  nan: NaN,
  inf: Infinity,
  "+inf": Infinity,
  "-inf": -Infinity,
  infinity: Infinity,
  "+infinity": Infinity,
  "-infinity": -Infinity,
};

/** Undefined if there is no number. Accepts NaN and infinities, not hexadecimal. */
export function readNumber(bytes: Uint8Array, start: number, end: number): number | undefined {
  const first = bytes[start];
  let at = first === MINUS || first === PLUS ? start + 1 : start;
  let digits = 0;
  let mantissa = 0;
  let pointAt = -1;
  for (; at < end; at++) {
    const byte = bytes[at]!;
    if (byte >= ZERO && byte <= NINE) {
      mantissa = mantissa * 10 + byte - ZERO;
      digits++;
    } else if (byte === POINT && pointAt < 0) pointAt = at;
    else break;
  }
  if (at < end || digits === 0 || digits > MAX_EXACT_DIGITS) return readOther(bytes, start, end);
  const value = pointAt < 0 ? mantissa : mantissa / POWERS_OF_TEN[end - 1 - pointAt]!;
  return first === MINUS ? -value : value;
}

function readOther(bytes: Uint8Array, start: number, end: number): number | undefined {
  let text = "";
  for (let at = start; at < end; at++) text += String.fromCharCode(bytes[at]!);
  if (DECIMAL.test(text)) return Number(text);
  return SPECIAL[text.toLowerCase()];
}
