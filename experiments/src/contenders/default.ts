// kube-scheduler with its defaults, and the same once more.
import { seededRandom } from "@isochrone/runtime";
import type { Random } from "@isochrone/runtime";
import type { Point } from "../scenario/model.ts";
import type { ContenderDeps } from "./deps.ts";
import { scheduleAll } from "./kube-scheduler/imitation.ts";
import type { KubeScheduler } from "./kube-scheduler/port.ts";
import { requestOf, together } from "./pods.ts";
import { ContenderError } from "./port.ts";
import type { Contender, Observation, Placement, PodMove } from "./port.ts";

const SEEDS = 2 ** 32;

/** `null` breaks ties by numbers of its own: the same ones would make it the same trial, which shows nothing. */
export class DefaultContender implements Contender {
  readonly id: "default" | "null";
  readonly by: string;
  readonly #real: KubeScheduler | undefined;

  constructor(id: "default" | "null", { kubeScheduler }: Pick<ContenderDeps, "kubeScheduler">) {
    this.id = id;
    this.#real = kubeScheduler;
    this.by =
      kubeScheduler === undefined
        ? "imitation of kube-scheduler 1.35"
        : `kube-scheduler ${kubeScheduler.version}`;
  }

  async place(
    point: Point,
    before: Observation | null,
    random: Random,
    kept: Placement = new Map(),
  ): Promise<Placement> {
    const request = requestOf(point, before?.cluster ?? point.cluster, kept);
    const own = this.id === "null" ? seededRandom(Math.floor(random.next() * SEEDS)) : random;
    try {
      const placed =
        this.#real === undefined ? scheduleAll(request, own) : await this.#real.schedule(request);
      return together(request, placed);
    } catch (error) {
      throw new ContenderError(this.id, (error as Error).message, { cause: error });
    }
  }

  /** Pods stay where they were bound. */
  async adjust(): Promise<readonly PodMove[]> {
    return [];
  }

  async close(): Promise<void> {}
}
