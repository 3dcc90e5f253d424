import type { PodLife } from "../audit/pod-lives.ts";
import { ModelCluster, type ModelProposal } from "./model-cluster.ts";
import type { Machine } from "./noise.ts";

interface QuietOptions {
  readonly seed: number;
  readonly minutes: number;
  readonly machine: Machine;
}

interface QuietResult {
  /** Descriptions of replaced pods, including those on the same node. */
  readonly replaced: readonly string[];
  /** Descriptions of proposals withdrawn within five minutes. */
  readonly withdrawn: readonly string[];
  /** Descriptions of proposals that would cost more than today. */
  readonly worse: readonly string[];
}

const MINUTE_MS = 60_000;
const WITHDRAWN_WITHIN_MS = 5 * MINUTE_MS;
/** The graphs then cover a whole window. */
const SETTLES_IN_MS = 40_000;
const NOTHING = 0.005;

export async function quietRun({ seed, minutes, machine }: QuietOptions): Promise<QuietResult> {
  const model = await ModelCluster.start({ seed, machine });
  try {
    const before = model.lives.replacements().length;
    const follower = new ProposalFollower();
    const beganMs = model.nowMs;
    await model.run(minutes * MINUTE_MS, async () => {
      if (model.nowMs - beganMs > SETTLES_IN_MS) follower.take(await model.proposals(), model.nowMs);
    });
    const replaced = model.lives.replacements().slice(before).map(replacedText);
    return { replaced, withdrawn: follower.withdrawn, worse: [...follower.worse] };
  } finally {
    await model.stop();
  }
}

export const replacedText = ({ old, next }: { readonly old: PodLife; readonly next: PodLife }): string =>
  `${old.workload} ${old.node} -> ${next.node}`;

export class ProposalFollower {
  readonly withdrawn: string[] = [];
  readonly worse = new Set<string>();
  #text: string | null = null;
  #sinceMs = 0;

  take(proposals: readonly ModelProposal[], nowMs: number): void {
    const [proposal] = proposals;
    if (proposal === undefined) return;
    const { savedRatio = null, pods } = proposal;
    if (savedRatio !== null && savedRatio < -NOTHING)
      this.worse.add(`${pods.length} pods, ${(100 * savedRatio).toFixed(0)} %`);
    const text = pods
      .map(({ workload, node }) => `${workload} -> ${node}`)
      .toSorted()
      .join(", ");
    if (text === this.#text) return;
    const lastedMs = nowMs - this.#sinceMs;
    if (this.#text !== null && this.#text !== "" && lastedMs < WITHDRAWN_WITHIN_MS)
      this.withdrawn.push(`${this.#text}: gone after ${(lastedMs / 1_000).toFixed(0)} s`);
    this.#text = text;
    this.#sinceMs = nowMs;
  }
}
