import { looseFields, looseList, looseText } from "@isochrone/primitives";
import type { ContainerStatus, KubernetesObject, PodStatus, Unchecked } from "@isochrone/kubernetes";
import { isUnschedulable } from "../../adapters/observed-pod.ts";
import { readReport } from "../domain/profiles.ts";

type ProfileRun =
  | { readonly kind: "under_way" }
  | { readonly kind: "homeless" }
  | { readonly kind: "measured"; readonly secondsPerFrame: number; readonly image: string | null }
  | { readonly kind: "failed"; readonly failure: string };

/** For pods that the kubelet doesn't end, or never starts. */
const OVERDUE_MS = 600_000;

export function runOf(pod: KubernetesObject, knownMs: number): ProfileRun {
  const status = looseFields<PodStatus>(pod.status);
  const [container = {}] = looseList<ContainerStatus>(status.containerStatuses);
  const { terminated, waiting } = looseFields<NonNullable<ContainerStatus["state"]>>(container.state);
  if (terminated !== undefined) return ended(looseFields<Terminated>(terminated), digestOf(container));
  if (status.phase === "Failed" || status.phase === "Succeeded") {
    const words = [status.reason, status.message].map(looseText).filter((text) => text !== "");
    return failed(words.join(": ") || "it ended without a container");
  }
  if (isUnschedulable(pod)) return { kind: "homeless" };
  if (knownMs > OVERDUE_MS) {
    const reason = looseText(looseFields<Record<"reason", unknown>>(waiting).reason);
    const phase = [looseText(status.phase), reason].filter((text) => text !== "").join(", ");
    return failed(`it hasn't ended within ${OVERDUE_MS / 60_000} minutes (${phase})`);
  }
  return { kind: "under_way" };
}

export function digestOf({ imageID }: Unchecked<ContainerStatus>): string | null {
  return /sha256:[0-9a-f]{64}/.exec(looseText(imageID))?.[0] ?? null;
}

type Terminated = Record<"exitCode" | "finishedAt" | "message" | "reason" | "startedAt", unknown>;

function ended(state: Partial<Terminated>, image: string | null): ProfileRun {
  const { exitCode, reason, message, startedAt, finishedAt } = state;
  if (exitCode !== 0) return failed(`exit code ${String(exitCode)} (${looseText(reason)})`);
  const report = readReport(looseText(message), ranSeconds(startedAt, finishedAt));
  return typeof report === "string" ? failed(report) : { kind: "measured", secondsPerFrame: report, image };
}

/** Upper bound, because both times are whole seconds; null if unknown. */
function ranSeconds(startedAt: unknown, finishedAt: unknown): number | null {
  const seconds = (Date.parse(looseText(finishedAt)) - Date.parse(looseText(startedAt))) / 1_000 + 1;
  return seconds >= 1 ? seconds : null;
}

const MAX_CHARACTERS = 300;

function failed(failure: string): ProfileRun {
  return { kind: "failed", failure: failure.slice(0, MAX_CHARACTERS) };
}
