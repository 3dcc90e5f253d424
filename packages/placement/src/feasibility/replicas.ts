import type { SchedulingPod } from "./objects/scheduling-pod.ts";

/** Which nodes each controller's pods are on. Those that are being deleted don't count. */
export class Replicas {
  /** By controller, then node: how many. */
  readonly #byController = new Map<string, Map<number, number>>();

  change({ controller, terminating }: SchedulingPod, node: number, pods: 1 | -1): void {
    if (controller === null || terminating) return;
    let byNode = this.#byController.get(controller);
    if (byNode === undefined) this.#byController.set(controller, (byNode = new Map<number, number>()));
    const count = (byNode.get(node) ?? 0) + pods;
    if (count > 0) byNode.set(node, count);
    else byNode.delete(node);
    if (byNode.size === 0) this.#byController.delete(controller);
  }

  /** Indices of the nodes of a controller's pods, each as often as it has some. */
  nodesOf(controller: string): number[] {
    return [...(this.#byController.get(controller) ?? [])].flatMap(([node, count]) =>
      Array.from({ length: count }, () => node),
    );
  }
}
