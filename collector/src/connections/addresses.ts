/** Converts 4 or 16 raw bytes into Kubernetes' notation; null if no pod can have the address. */
export function podAddress(raw: string): string | null {
  const bytes = Buffer.from(raw, "latin1");
  if (bytes.length === 4) {
    const [first = 0] = bytes;
    const isNone = first === 0 || first === 127 || first >= 224 || (first === 169 && bytes[1] === 254);
    return isNone ? null : bytes.join(".");
  }
  if (bytes.length !== 16) return null;
  const text = compressed(bytes);
  return text === "::" || text === "::1" || /^(?:ff|fe[89ab])/.test(text) ? null : text;
}

/** RFC 5952: `::` replaces the first longest run of zero groups. */
function compressed(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16));
  let best = { from: -1, count: 1 };
  for (let from = 0; from < 8; from++) {
    let count = 0;
    while (groups[from + count] === "0") count++;
    if (count > best.count) best = { from, count };
  }
  if (best.from < 0) return groups.join(":");
  return `${groups.slice(0, best.from).join(":")}::${groups.slice(best.from + best.count).join(":")}`;
}
