/** Compares by Unicode code point as Go does, because kube-scheduler searches topologyOrder in that order. */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    if (a.charCodeAt(at) === b.charCodeAt(at)) continue;
    // The strings differ in the second half of a surrogate pair.
    const start = isSecondHalf(a, at) && isSecondHalf(b, at) ? at - 1 : at;
    return a.codePointAt(start)! - b.codePointAt(start)!;
  }
  return a.length - b.length;
}

function isSecondHalf(text: string, at: number): boolean {
  return at > 0 && (text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800;
}
