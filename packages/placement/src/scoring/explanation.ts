export interface NeutralPart {
  readonly part: string;
  readonly reason: string;
}

/** Ages of the inputs, seconds. Null: not used, or unknown. */
export interface InputAges {
  readonly clusterVersion: number | null;
  readonly clusterAgeSeconds: number | null;
  readonly workflowVersion: number | null;
  readonly workflowAgeSeconds: number | null;
}

export interface ExplanationInputs extends InputAges {
  readonly channelsByRequests: number;
  /** Bytes per such request. Null: there was none. */
  readonly bytesPerRequest: number | null;
}

export interface Explanation {
  /** Node with the highest score. Null: none is feasible. */
  readonly best: string | null;
  /** The part that ranked the best node first, or `none`. */
  readonly decidedBy: string;
  readonly neutral: readonly NeutralPart[];
  readonly inputs: ExplanationInputs;
  /** Substitutes for missing figures, as sentence fragments. */
  readonly remarks: readonly string[];
  readonly sentences: readonly string[];
}

export function shortNumber(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  const rounded = Number(value.toPrecision(3));
  return Math.abs(rounded) >= 1e6 ? rounded.toExponential() : String(rounded);
}
