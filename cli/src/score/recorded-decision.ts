// Reads a decision as `isochrone explain -o json` prints it: the pod and the scorer's settings.
import type { StrategyProfile } from "@isochrone/placement";
import { isRecord, looseFields } from "@isochrone/primitives";
import { DumpError, shown } from "./errors.ts";
import { parseDocuments, textOf, type Json } from "./read-objects.ts";

export interface RecordedDecision {
  /** namespace/name */
  readonly pod: string;
  readonly profile: StrategyProfile;
  readonly usageHeadroom: boolean;
  /** Version of the cluster graph used; null: there was none. */
  readonly clusterVersion: number | null;
}

export function readDecision(text: string, file: string): RecordedDecision {
  const fail = (problem: string): DumpError =>
    new DumpError("malformed_decision", { file, document: null, line: null }, problem);
  const [document, ...others] = parseDocuments(text, file);
  const decision = others.length > 0 ? null : decisionOf(document?.json);
  const { pod: about, inputs } = decision ?? {};
  if (decision === null || !isRecord(about))
    throw fail(`must be what \`isochrone explain -o json\` prints once, got ${shown(document?.json)}`);
  const { namespace, name } = about;
  const pod = `${textOf(namespace) ?? "default"}/${textOf(name) ?? ""}`;
  const { clusterVersion } = looseFields(inputs);
  return {
    pod,
    ...settingsOf(decision, fail),
    clusterVersion: typeof clusterVersion === "number" ? clusterVersion : null,
  };
}

function settingsOf(
  decision: Json,
  fail: (problem: string) => DumpError,
): Pick<RecordedDecision, "profile" | "usageHeadroom"> {
  const { kind, profile } = decision;
  if (!isRecord(profile))
    throw fail(
      `must say with which settings its scores were made (profile), got a decision of kind ${shown(kind)} without; name them with --strategy and --set`,
    );
  const { strategy, settings, channelPriorities = "", usageHeadroom = false } = profile;
  if (typeof strategy !== "string") throw fail(`profile.strategy must be text, got ${shown(strategy)}`);
  if (typeof channelPriorities !== "string")
    throw fail(`profile.channelPriorities must be text, got ${shown(channelPriorities)}`);
  if (!isNumbers(settings)) throw fail(`profile.settings must be numbers by name, got ${shown(settings)}`);
  return { profile: { strategy, settings, channelPriorities }, usageHeadroom: usageHeadroom === true };
}

/** Returns null for other JSON. With --kubeconfig, `explain` prints the pod beside the decision. */
function decisionOf(json: unknown): Json | null {
  if (!isRecord(json)) return null;
  const { decision = json } = json;
  return isRecord(decision) ? decision : null;
}

function isNumbers(value: unknown): value is Readonly<Record<string, number>> {
  return isRecord(value) && Object.values(value).every((each) => typeof each === "number");
}
