import { createInformer, KINDS } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { ClusterStore, Informer, KubernetesObject } from "@isochrone/kubernetes";
import type { Clock, Logger, Random, Service } from "@isochrone/runtime";
import type { Workload } from "./workload-pods.ts";

interface AutoscalersOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export class Autoscalers implements Service {
  readonly #options: AutoscalersOptions;
  #informer: Informer | null = null;

  constructor(options: AutoscalersOptions) {
    this.#options = options;
  }

  start(): Promise<void> {
    this.#informer = createInformer({
      ...this.#options,
      kind: KINDS.horizontalPodAutoscaler,
      trim: targetAlone,
    });
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await this.#informer?.stop();
  }

  /** Nothing is scaled before all autoscalers were listed. */
  get isSynced(): boolean {
    return this.#informer?.isSynced ?? false;
  }

  of({ namespace, kind, name }: Workload): string | null {
    const found = this.#informer?.items().find((autoscaler) => {
      const target = looseFields(looseFields(autoscaler.spec).scaleTargetRef);
      return autoscaler.metadata.namespace === namespace && target.kind === kind && target.name === name;
    });
    return found?.metadata.name ?? null;
  }
}

function targetAlone({ apiVersion, kind, metadata, spec }: KubernetesObject): KubernetesObject {
  const { name, namespace = "default", uid, resourceVersion } = metadata;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace,
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    spec: { scaleTargetRef: looseFields(spec).scaleTargetRef },
  };
}
