import type { SchedulingPod } from "./objects/scheduling-pod.ts";

/** Nodes of each controller's pods, without terminating ones. */
export class Replicas {
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

  nodesOf(controller: string): number[] {
    return [...(this.#byController.get(controller) ?? [])].flatMap(([node, count]) =>
      Array.from({ length: count }, () => node),
    );
  }
}
