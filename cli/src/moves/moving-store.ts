import { StoreError } from "@isochrone/kubernetes";
import type { LabClient } from "@isochrone/lab/client";
import type { MovingStore } from "@isochrone/scheduler-plugin";
import { openStore } from "../kubernetes.ts";
import { embeddedLab, type ClusterSource } from "../what-if/cluster-objects.ts";

interface OpenedMovingStore {
  readonly store: MovingStore;
  close(): Promise<void>;
}

export async function openMovingStore(source: ClusterSource): Promise<OpenedMovingStore> {
  const lab = await embeddedLab(source);
  if (lab !== null && (await hasStore(lab))) return { store: labStore(lab), close: () => Promise.resolve() };
  return openStore(source.kubeconfig, source.context);
}

/** False for a lab with an API server, or an ended one. */
async function hasStore(lab: LabClient): Promise<boolean> {
  return lab.objects().then(
    () => true,
    () => false,
  );
}

function labStore(lab: LabClient): MovingStore {
  const calls =
    (method: keyof MovingStore) =>
    async (...args: readonly unknown[]): Promise<never> => {
      const answer = await lab.store<never>({ method, args });
      if ("error" in answer) throw new StoreError(answer.error.code, answer.error.message);
      return answer.value;
    };
  return {
    get: calls("get"),
    list: calls("list"),
    patch: calls("patch"),
    jsonPatch: calls("jsonPatch"),
    evict: calls("evict"),
  };
}
