// Whether an act kept its promise. Pure.
import type { Act, Decision } from "@isochrone/topology";

type Verdict = Pick<Act, "expected" | "counted" | "verdict" | "sentence">;

/** A shortfall of up to this share of the expected gain, or of this many ms, is within what can be measured. */
const TOLERATED_SHARE = 0.1;
const TOLERATED_MS = 0.5;
/** Channels that were not measured again for so long never are. */
const WAIT_MS = 30 * 60_000;

const NOTHING = { expected: null, counted: null } as const;

/** @param members decisions of one act, the oldest first */
export function verdictOf(members: readonly Decision[], nowMs: number): Verdict {
  if (members.length === 0)
    return { ...NOTHING, verdict: "not_judged", sentence: "Not judged: its decisions are no longer kept." };
  return members[0]!.kind === "eviction" ? moveVerdict(members, nowMs) : placementVerdict(members);
}

function placementVerdict(members: readonly Decision[]): Verdict {
  const count = (state: Landing): number => members.filter((each) => landingOf(each) === state).length;
  const [elsewhere, pending, unknown] = [count("elsewhere"), count("pending"), count("unknown")];
  const of = members.length === 1 ? "" : ` of ${members.length} pods`;
  const failed = members.find((each) => landingOf(each) === "elsewhere");
  if (failed !== undefined) {
    const node = failed.binding?.node ?? failed.outcome?.node ?? null;
    const where = members.length > 1 || node === null ? "" : `: on ${node}, not on ${failed.best ?? "any"}`;
    const some = members.length === 1 ? "" : ` ${elsewhere}${of}`;
    return { ...NOTHING, verdict: "failed", sentence: `Failed:${some} landed elsewhere${where}.` };
  }
  if (pending > 0) {
    const what = members.length === 1 ? "the pod has" : `${pending}${of} have`;
    return { ...NOTHING, verdict: "waiting", sentence: `Not judged yet: ${what} no node yet.` };
  }
  if (unknown > 0) {
    const some = members.length === 1 ? "" : ` ${unknown}${of}`;
    const sentence = `Not judged: it isn't known where${some === "" ? " the pod runs" : `${some} run`}.`;
    return { ...NOTHING, verdict: "not_judged", sentence };
  }
  const all = members.length === 1 ? "on the chosen node" : `all ${members.length} pods are on their nodes`;
  return { ...NOTHING, verdict: "kept", sentence: `Kept: ${all}.` };
}

type Landing = "chosen" | "elsewhere" | "pending" | "unknown";

function landingOf({ binding, outcome, best }: Decision): Landing {
  if (binding === undefined || (binding.node === null && binding.state === "gone")) {
    if (outcome?.result === "landed") return "chosen";
    return outcome?.result === "elsewhere" ? "elsewhere" : "unknown";
  }
  if (binding.node === null) return "pending";
  if (best === null || binding.agreement === null) return "unknown";
  return binding.agreement === "otherwise" ? "elsewhere" : "chosen";
}

function moveVerdict(members: readonly Decision[], nowMs: number): Verdict {
  const first = members[0]!;
  const expected = expectedOf(first);
  const counted = countedOf(members);
  const figures = { expected, counted };
  const failed = members.filter((each) => hasFailed(each));
  if (failed.length > 0) return { ...figures, verdict: "failed", sentence: failureOf(members, failed) };
  const total = Math.max(members.length, first.act?.pods ?? 1);
  const ended = members.filter(({ outcome }) => outcome !== undefined);
  const newestMs = Math.max(...members.map(({ at, outcome }) => Date.parse(outcome?.at ?? at)));
  const mayChange = nowMs - newestMs < WAIT_MS;
  if (ended.length < total && (mayChange || ended.length < members.length)) {
    const done = `${ended.length} of ${total} ${total === 1 ? "pod" : "pods"} moved`;
    return { ...figures, verdict: "waiting", sentence: `Not judged yet: ${done}.` };
  }
  if (first.act === undefined)
    return { ...figures, verdict: "not_judged", sentence: "Not judged: no gain was promised." };
  const open = ended.length - (counted?.pods ?? 0);
  if (open > 0 || counted === null || expected === null) {
    const whose =
      ended.length === 1 ? "its channels" : `the channels of ${open} ${open === 1 ? "pod" : "pods"}`;
    return mayChange
      ? {
          ...figures,
          verdict: "waiting",
          sentence: `Not judged yet: ${whose} are still to be measured again.`,
        }
      : { ...figures, verdict: "not_judged", sentence: `Not judged: ${whose} couldn't be measured again.` };
  }
  const part = ended.length < total ? `; ${ended.length} of ${total} pods were moved` : "";
  return { ...figures, ...judged(expected, counted, part) };
}

function judged(
  { gainRatio, afterMs }: NonNullable<Act["expected"]>,
  counted: NonNullable<Act["counted"]>,
  part: string,
): Pick<Verdict, "verdict" | "sentence"> {
  const { beforeMs } = counted;
  const expectedMs = afterMs ?? beforeMs * (1 - (gainRatio ?? 0));
  const missingMs = counted.afterMs - expectedMs;
  const tolerated = Math.max(TOLERATED_MS, TOLERATED_SHARE * Math.max(0, beforeMs - expectedMs));
  if (missingMs <= tolerated) return { verdict: "kept", sentence: `Kept${part}.` };
  const worse = counted.afterMs > beforeMs ? ", slower than before" : "";
  return { verdict: "missed", sentence: `Missed by ${missingMs.toFixed(1)} ms${worse}${part}.` };
}

function expectedOf({ act }: Decision): Act["expected"] {
  if (act === undefined) return null;
  const { pods, gainRatio, beforeMs, expectedMs } = act;
  // Figures of one pod say nothing of a group.
  if (pods > 1) return { beforeMs: null, afterMs: null, gainRatio, gainErrorRatio: null };
  const saved = beforeMs === null || expectedMs === null || beforeMs <= 0 ? null : 1 - expectedMs / beforeMs;
  return { beforeMs, afterMs: expectedMs, gainRatio: saved ?? gainRatio, gainErrorRatio: null };
}

/** Mean over the traffic of all pods that were measured again. */
function countedOf(members: readonly Decision[]): Act["counted"] {
  let [pods, weight, before, after] = [0, 0, 0, 0];
  for (const { act, outcome } of members) {
    const { beforeMs = null, bytesPerSecond = null } = act ?? {};
    if (outcome?.measured === undefined || beforeMs === null || bytesPerSecond === null) continue;
    pods++;
    weight += bytesPerSecond;
    before += bytesPerSecond * beforeMs;
    after += bytesPerSecond * outcome.measured.afterMs;
  }
  if (pods === 0 || !(weight > 0)) return null;
  const gainRatio = before > 0 ? 1 - after / before : null;
  return { beforeMs: before / weight, afterMs: after / weight, gainRatio, pods };
}

function hasFailed({ outcome, binding, strategy }: Decision): boolean {
  if (outcome === undefined || outcome.result === "on_target") return false;
  // In mode `paper` kube-scheduler chooses the node: any other node is right.
  const isAnyRight = strategy !== "descheduler" && outcome.result === "elsewhere";
  return !(isAnyRight && outcome.node !== (binding?.node ?? null));
}

function failureOf(members: readonly Decision[], failed: readonly Decision[]): string {
  const of = members.length === 1 ? "" : ` ${failed.length} of ${members.length} pods:`;
  const words = failed.map(({ outcome, binding, best }) => {
    if (outcome?.result === "withdrawn") return `stays on ${binding?.node ?? "its node"}`;
    if (outcome?.node === null || outcome === undefined) return "no ready replacement";
    return `landed elsewhere, on ${outcome.node} instead of ${best ?? "any"}`;
  });
  return `Failed:${of} ${[...new Set(words)].join("; ")}.`;
}
