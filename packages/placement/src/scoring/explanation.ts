/** A part of a score that took no side, and why. */
export interface NeutralPart {
  readonly part: string;
  readonly reason: string;
}

/** Ages of what was used, seconds; null = not used or not known. */
export interface InputAges {
  readonly clusterVersion: number | null;
  readonly clusterAgeSeconds: number | null;
  readonly workflowVersion: number | null;
  readonly workflowAgeSeconds: number | null;
}

/** What a decision was made from: the graphs, and what stood in for figures that nobody has. */
export interface ExplanationInputs extends InputAges {
  /** Channels of the pod's workload that were valued by their requests, for want of bytes. */
  readonly channelsByRequests: number;
  /** What such a request counted as, bytes; null when there was none. */
  readonly bytesPerRequest: number | null;
}

/** Why the scores are as they are. */
export interface Explanation {
  /** The node with the highest score; null without a feasible candidate. */
  readonly best: string | null;
  /** The part that put the best node before the next one; `none` when nothing told them apart. */
  readonly decidedBy: string;
  readonly neutral: readonly NeutralPart[];
  readonly inputs: ExplanationInputs;
  /** What stood in for figures that nobody has: words without capital and full stop. */
  readonly remarks: readonly string[];
  /** The same in words, the most important first. */
  readonly sentences: readonly string[];
}

/** A number for a sentence: three significant digits, no exponent for common sizes. */
export function shortNumber(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  const rounded = Number(value.toPrecision(3));
  return Math.abs(rounded) >= 1e6 ? rounded.toExponential() : String(rounded);
}
