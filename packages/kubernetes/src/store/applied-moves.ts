// Moves that a person had carried out, on the controller of the pods, so that they can be undone.
import { looseFields, looseList, looseText, parseJson } from "@isochrone/primitives";
import type { KubernetesObject } from "./port.ts";

/**
 * Annotation of a controller: moves of the last plan that a person carried out, JSON of {@link AppliedMoves}.
 */
const APPLIED_MOVES_ANNOTATION = "isochrone.dev/applied-moves";

/** Longest annotation that is read: some thousand moves of one controller. */
const MAX_CHARACTERS = 128 * 1024;

interface AppliedMoves {
  /** When the plan was carried out, RFC 3339: the same on all controllers of one plan. */
  readonly run: string;
  /** In the order in which they were made. */
  readonly moves: readonly AppliedMove[];
}

export interface AppliedMove {
  /** Its place among all moves of the run. */
  readonly order: number;
  /** The pod that was to be replaced: while it runs, the move isn't made. "": it isn't known. */
  readonly podUid: string;
  readonly from: string;
  readonly to: string;
}

/** null: there is none, or it can't be read. */
export function readAppliedMoves({ metadata }: KubernetesObject): AppliedMoves | null {
  const { run, moves } = looseFields<AppliedMoves>(parsed(metadata.annotations?.[APPLIED_MOVES_ANNOTATION]));
  if (typeof run !== "string") return null;
  const read = looseList<AppliedMove>(moves).flatMap(({ order, podUid, from, to }) =>
    typeof order === "number" && typeof from === "string" && typeof to === "string"
      ? [{ order, podUid: looseText(podUid), from, to }]
      : [],
  );
  return read.length === 0 ? null : { run, moves: read };
}

/** A merge patch of the controller. @param applied null: it has none any more */
export function appliedMovesPatch(applied: AppliedMoves | null): Readonly<Record<string, unknown>> {
  const value = applied === null || applied.moves.length === 0 ? null : JSON.stringify(applied);
  return { metadata: { annotations: { [APPLIED_MOVES_ANNOTATION]: value } } };
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined || text.length > MAX_CHARACTERS ? null : parseJson(text);
  } catch {
    return null;
  }
}
