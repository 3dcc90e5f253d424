import { KINDS, LABELS } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import type { Logger } from "@isochrone/runtime";
import type { WorkflowGraph } from "@isochrone/topology";
import type { GatedPod } from "../gated-workflows.ts";
import { appGroupLevels, channelLevels } from "../domain/release-levels.ts";
import type { LevelOf } from "../domain/release-levels.ts";
import type { Release } from "../settings.ts";

/** Annotation of an AppGroup: `ordered` or `together`. */
export const RELEASE_ANNOTATION = "isochrone.dev/release";

interface ReleaseOrdersOptions {
  readonly store: Pick<ClusterStore, "get">;
  readonly logger: Logger;
}

export class ReleaseOrders {
  readonly #options: ReleaseOrdersOptions;

  constructor(options: ReleaseOrdersOptions) {
    this.#options = options;
  }

  /** null: release together. Ignores an unreadable AppGroup. */
  async of(pods: readonly GatedPod[], workflow: WorkflowGraph, release: Release): Promise<LevelOf | null> {
    const group = await this.#appGroupOf(pods);
    const asked = group?.metadata.annotations?.[RELEASE_ANNOTATION] ?? release;
    if (asked !== "ordered") return null;
    return appGroupLevels(group?.status) ?? channelLevels(workflow);
  }

  async #appGroupOf(pods: readonly GatedPod[]): Promise<KubernetesObject | null> {
    const pod = pods.find(({ object }) => object.metadata.labels?.[LABELS.appGroup] !== undefined);
    if (pod === undefined) return null;
    const { namespace } = pod.identity;
    const name = pod.object.metadata.labels![LABELS.appGroup]!;
    try {
      return await this.#options.store.get({ ...KINDS.appGroup, namespace, name });
    } catch (error) {
      this.#options.logger.warnOnce(
        "planner:appgroup",
        "an AppGroup can't be read, its pods are released as the settings say",
        {
          appGroup: `${namespace}/${name}`,
          error,
        },
      );
      return null;
    }
  }
}
