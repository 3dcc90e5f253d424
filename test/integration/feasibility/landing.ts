import type { KubernetesObject } from "@isochrone/kubernetes";
import type { QueueStep, Rejection, SchedulingModel } from "@isochrone/placement";
import type { Testbed } from "./testbed.ts";
import type { Judge } from "./judge.ts";

interface LandingOptions {
  readonly testbed: Testbed;
  readonly judge: Judge;
  readonly model: SchedulingModel;
  readonly pods: readonly KubernetesObject[];
  readonly steps: readonly QueueStep[];
  /** Nominates all pods before the first is released, regardless of their steps. */
  readonly atOnce: boolean;
}

interface Fate {
  readonly target: string;
  /** The model's prediction just before. */
  readonly foretold: Rejection | null;
  readonly got: string | null;
  readonly said: string;
}

export class Landing {
  readonly #options: LandingOptions;
  readonly #waiting: QueueStep[];

  constructor(options: LandingOptions) {
    this.#options = options;
    this.#waiting = [...options.steps];
  }

  async *run(): AsyncGenerator<Fate> {
    const { testbed, judge, model, pods, atOnce } = this.#options;
    for (const step of this.#options.steps) {
      if (this.#waiting.includes(step)) await this.#nominate();
      const pod = pods[step.pod]!;
      const target = model.nodes[step.node]!.name;
      const foretold = model.verdict(pod, target);
      // In order, the steps must agree with the prediction.
      if (!atOnce && foretold?.message !== step.rejection?.message)
        throw new Error(`step says ${step.rejection?.message}, model says ${foretold?.message}`);
      judge.send(pod, target);
      const got = await testbed.release(pod);
      if (foretold === null) model.place(pod, target);
      else model.remove(`${pod.metadata.namespace}/${pod.metadata.name}`);
      yield {
        target,
        foretold,
        got,
        said: `${pod.metadata.name}, ${foretold?.message ?? "yes"}`,
      };
    }
  }

  async #nominate(): Promise<void> {
    const { testbed, model, pods, atOnce } = this.#options;
    const end = atOnce ? -1 : this.#waiting.findIndex(({ before }) => before);
    for (const { pod, node } of this.#waiting.splice(0, end < 0 ? this.#waiting.length : end + 1)) {
      await testbed.nominate(pods[pod]!, model.nodes[node]!.name);
      model.nominate(pods[pod]!, model.nodes[node]!.name);
    }
  }
}
