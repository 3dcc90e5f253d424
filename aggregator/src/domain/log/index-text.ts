import type { DroppedReport } from "../ingest/dropped-reports.ts";
import type { SourceSequences } from "./accepted-records.ts";

/** Which records a delta contains. */
export interface DeltaIndex {
  readonly sequences: readonly SourceSequences[];
  readonly dropped: readonly DroppedReport[];
}

const VERSION = "isochrone-index 1";
const RANGES = /^\d{1,16}(-\d{1,16})?(,\d{1,16}(-\d{1,16})?)*$/;

/**
 * Text of at most about `maxBytes` each, a line per life of a source: "s SOURCE EPOCH 1-20,22" for sequences,
 * "d SOURCE EPOCH 3" for records that it dropped. Names and epochs are visible ASCII without spaces. There is
 * always at least one text.
 */
export function writeIndex({ sequences, dropped }: DeltaIndex, maxBytes: number): string[] {
  const lines = [
    ...dropped.map((report) => `d ${report.source} ${report.epoch} ${report.dropped}`),
    ...sequences.map(
      ({ source, epoch, ranges }) =>
        `s ${source} ${epoch} ${ranges.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join(",")}`,
    ),
  ];
  const texts: string[] = [];
  let text = VERSION;
  for (const line of lines) {
    if (text.length > VERSION.length && text.length + line.length + 1 > maxBytes) {
      texts.push(text);
      text = VERSION;
    }
    text += `\n${line}`;
  }
  texts.push(text);
  return texts;
}

/** Null when it isn't such a text. */
export function readIndex(text: string): DeltaIndex | null {
  const [version, ...lines] = text.split("\n");
  if (version !== VERSION) return null;
  const sequences: SourceSequences[] = [];
  const dropped: DroppedReport[] = [];
  for (const line of lines) {
    const [kind, source = "", epoch = "", value = ""] = line.split(" ");
    if (kind === "s" && RANGES.test(value)) sequences.push({ source, epoch, ranges: rangesOf(value) });
    else if (kind === "d" && /^\d{1,16}$/.test(value))
      dropped.push({ source, epoch, dropped: Number(value) });
    else return null;
  }
  return { sequences, dropped };
}

function rangesOf(text: string): [from: number, to: number][] {
  return text.split(",").map((range) => {
    const [from = "", to = from] = range.split("-");
    return [Number(from), Number(to)];
  });
}
