import type { Act, Decision } from "@isochrone/topology";

type Verdict = Pick<Act, "expected" | "counted" | "verdict" | "sentence">;
type Judgement = Pick<Verdict, "verdict" | "sentence">;

/** A shortfall of up to this share of the expected gain, or these ms, is within the measuring error. */
const TOLERATED_SHARE = 0.1;
const TOLERATED_MS = 0.5;
/** Channels that aren't measured again within this time are given up. */
const WAIT_MS = 30 * 60_000;

const NOTHING = { expected: null, counted: null } as const;

export function verdictOf(members: readonly Decision[], nowMs: number): Verdict {
  if (members.length === 0)
    return { ...NOTHING, verdict: "not_judged", sentence: "Not judged: its decisions are no longer kept." };
  return members[0]!.kind === "eviction" ? moveVerdict(members, nowMs) : placementVerdict(members);
}

function placementVerdict(members: readonly Decision[]): Verdict {
  const groups = Map.groupBy(members, landingOf);
  const total = members.length;
  const say = (verdict: Act["verdict"], sentence: string): Verdict => ({ ...NOTHING, verdict, sentence });
  const elsewhere = groups.get("elsewhere");
  if (elsewhere !== undefined) return say("failed", `Failed: ${elsewhereOf(elsewhere, total)}.`);
  const share = (some: readonly Decision[]): string => `${some.length} of ${total} pods`;
  const pending = groups.get("pending");
  if (pending !== undefined)
    return say(
      "waiting",
      `Not judged yet: ${total === 1 ? "the pod has" : `${share(pending)} have`} no node.`,
    );
  const unknown = groups.get("unknown");
  if (unknown !== undefined)
    return say("not_judged", `Not judged: ${total === 1 ? "the pod" : share(unknown)}: node not known.`);
  return say("kept", `Kept: ${total === 1 ? "on the chosen node" : `all ${total} pods are on their nodes`}.`);
}

function elsewhereOf(those: readonly Decision[], total: number): string {
  const { binding, outcome, best } = those[0]!;
  if (total > 1) return `${those.length} of ${total} pods landed elsewhere`;
  const node = binding?.node ?? outcome?.node ?? null;
  return `landed elsewhere${node === null ? "" : `: on ${node}, not on ${best ?? "any"}`}`;
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
  const [expected, counted] = [expectedOf(members[0]!), countedOf(members)];
  const failed = members.filter((each) => hasFailed(each));
  const found =
    failed.length > 0
      ? ({ verdict: "failed", sentence: failureOf(members, failed) } as const)
      : judgedOf(members, { expected, counted }, nowMs);
  return { expected, counted, ...found };
}

function judgedOf(
  members: readonly Decision[],
  { expected, counted }: Pick<Verdict, "expected" | "counted">,
  nowMs: number,
): Judgement {
  const total = Math.max(members.length, members[0]!.act?.pods ?? 1);
  const ended = members.filter(({ outcome }) => outcome !== undefined).length;
  const newestMs = Math.max(...members.map(({ at, outcome }) => Date.parse(outcome?.at ?? at)));
  const mayChange = nowMs - newestMs < WAIT_MS;
  const progress = `${ended} of ${podsText(total)}`;
  if (ended < total && (mayChange || ended < members.length))
    return { verdict: "waiting", sentence: `Not judged yet: ${progress} moved.` };
  if (expected === null) return { verdict: "not_judged", sentence: "Not judged: no gain was promised." };
  const open = ended - (counted?.pods ?? 0);
  if (open === 0 && counted !== null)
    return judged(expected, counted, ended < total ? `; ${progress} were moved` : "");
  return unmeasured(ended === 1 ? "its channels" : `the channels of ${podsText(open)}`, mayChange);
}

function unmeasured(whose: string, mayChange: boolean): Judgement {
  return mayChange
    ? { verdict: "waiting", sentence: `Not judged yet: ${whose} are still to be measured again.` }
    : { verdict: "not_judged", sentence: `Not judged: ${whose} couldn't be measured again.` };
}

function podsText(count: number): string {
  return `${count} ${count === 1 ? "pod" : "pods"}`;
}

function judged(
  { gainRatio, afterMs }: NonNullable<Act["expected"]>,
  counted: NonNullable<Act["counted"]>,
  part: string,
): Judgement {
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
  // One pod's figures don't describe a group.
  if (pods > 1) return { beforeMs: null, afterMs: null, gainRatio, gainErrorRatio: null };
  const saved = beforeMs === null || expectedMs === null || beforeMs <= 0 ? null : 1 - expectedMs / beforeMs;
  return { beforeMs, afterMs: expectedMs, gainRatio: saved ?? gainRatio, gainErrorRatio: null };
}

/** Traffic-weighted mean over all pods that were measured again. */
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
  // In mode `paper` kube-scheduler chooses the node, so any other node is right.
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
