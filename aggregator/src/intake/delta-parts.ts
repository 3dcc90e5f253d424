import type { Contributions } from "../domain/delta/delta-tables.ts";
import { encodeContributions } from "../domain/delta/encode-delta.ts";
import { writeIndex, type DeltaIndex } from "../domain/log/index-text.ts";
import type { DeltaBody } from "../domain/log/pane-record.ts";
import type { WindowShape } from "../domain/windows/window-shape.ts";

/** A record with its headers must stay below the 1 MiB that brokers take. */
const MAX_BODY_BYTES = 900_000;

/** What a delta is sent as: the index first, then metrics. */
export function bodiesOf(index: DeltaIndex, contributions: Contributions, shape: WindowShape): DeltaBody[] {
  const texts = writeIndex(index, MAX_BODY_BYTES).map((text): DeltaBody => ({
    kind: "index",
    value: Buffer.from(text, "latin1"),
  }));
  return [...texts, ...join(encodeContributions(contributions, shape))];
}

/** Requests one after the other are one request, so pieces are put together up to the size of a record. */
function join(pieces: readonly Uint8Array[]): DeltaBody[] {
  const bodies: DeltaBody[] = [];
  let together: Uint8Array[] = [];
  let bytes = 0;
  const finish = (): void => {
    const [first, ...more] = together;
    if (first !== undefined)
      bodies.push({ kind: "metrics", value: more.length === 0 ? first : Buffer.concat(together) });
    together = [];
    bytes = 0;
  };
  for (const piece of pieces) {
    if (bytes + piece.length > MAX_BODY_BYTES) finish();
    together.push(piece);
    bytes += piece.length;
  }
  finish();
  return bodies;
}
