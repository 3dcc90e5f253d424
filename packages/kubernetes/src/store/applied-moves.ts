// Moves executed by a user, stored on the pods' controller for undo.
import { looseFields, looseList, looseText, parseJson } from "@isochrone/primitives";
import type { KubernetesObject } from "./port.ts";

/** Annotation of a controller: moves of the last plan that a user executed, JSON of {@link AppliedMoves}. */
const APPLIED_MOVES_ANNOTATION = "isochrone.dev/applied-moves";

/** Longest annotation read; fits some thousand moves of one controller. */
const MAX_CHARACTERS = 128 * 1024;

interface AppliedMoves {
  /** Time of execution, RFC 3339; equal on all controllers of a plan. */
  readonly run: string;
  readonly moves: readonly AppliedMove[];
}

export interface AppliedMove {
  /** Position of the move among all moves of the run. */
  readonly order: number;
  /** The replaced pod: while it runs, the move isn't done. "": unknown. */
  readonly podUid: string;
  readonly from: string;
  readonly to: string;
}

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

/** A merge patch. @param applied null removes the annotation */
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
