export const LONG_WAIT_MS = 5_000;

export type Readiness =
  | { readonly kind: "ready" }
  | { readonly kind: "starting"; readonly reasons: readonly string[] }
  | { readonly kind: "unreachable" }
  | { readonly kind: "silent" };

interface Wait {
  readonly waitedMs: number;
  readonly request: { readonly path: string; readonly waitedMs: number } | null;
  readonly readiness: Readiness;
  readonly isStreaming: boolean;
}

export function waitingWords({ waitedMs, request, readiness, isStreaming }: Wait): string | null {
  if (waitedMs < LONG_WAIT_MS) return null;
  const reason = reasonOf(readiness, isStreaming, request !== null);
  if (request === null) return `Loading for ${seconds(waitedMs)}: ${reason}.`;
  return `No answer from /${request.path} for ${seconds(request.waitedMs)}: ${reason}.`;
}

function reasonOf(readiness: Readiness, isStreaming: boolean, isAsking: boolean): string {
  switch (readiness.kind) {
    case "unreachable":
      return "the server can't be reached";
    case "starting":
      return `the aggregator is starting${readiness.reasons.length === 0 ? "" : ` (${readiness.reasons.join("; ")})`}`;
    case "ready":
      return isAsking
        ? "the server is ready and still works on this answer"
        : "the server is ready; the next graph brings the data";
    default:
      return isStreaming
        ? "its event stream is open, so the server is busy, or other tabs use up the browser's connections to it"
        : "the server is busy or gone, or other tabs use up the browser's connections to it";
  }
}

function seconds(ms: number): string {
  return `${Math.floor(ms / 1000)} s`;
}
