import { seededRandom } from "@isochrone/runtime";
import type { ContenderDeps } from "./deps.ts";
import { scheduleAll } from "./kube-scheduler/imitation.ts";
import type { KubeScheduler } from "./kube-scheduler/port.ts";
import type { Placement } from "./port.ts";
import { StayingContender } from "./scheduling-contender.ts";
import type { SchedulingInput } from "./scheduling-contender.ts";

const SEEDS = 2 ** 32;

/** `null` breaks ties by its own random numbers. With the same ones it would repeat the trial. */
export class DefaultContender extends StayingContender {
  readonly id: "default" | "null";
  readonly by: string;
  readonly #real: KubeScheduler | undefined;

  constructor(id: "default" | "null", { kubeScheduler }: Pick<ContenderDeps, "kubeScheduler">) {
    super();
    this.id = id;
    this.#real = kubeScheduler;
    this.by =
      kubeScheduler === undefined
        ? "imitation of kube-scheduler 1.35"
        : `kube-scheduler ${kubeScheduler.version}`;
  }

  protected async schedule({ request, random }: SchedulingInput): Promise<Placement> {
    if (this.#real !== undefined) return await this.#real.schedule(request);
    const own = this.id === "null" ? seededRandom(Math.floor(random.next() * SEEDS)) : random;
    return scheduleAll(request, own);
  }
}
