import type { KubernetesObject } from "@isochrone/kubernetes";
import { podSpecOf, settingsOf } from "./objects.ts";

/** Fields of the pod's own state, which the kubelet fills in. */
const FIELDS: Readonly<Record<string, string>> = {
  "spec.nodeName": "node-1",
  "status.podIP": "10.0.0.7",
  "status.hostIP": "192.168.0.7",
  "metadata.name": "isochrone-aggregator-0",
};

export function settingsIn(
  objects: readonly KubernetesObject[],
  component: string,
): ReturnType<typeof settingsOf> {
  const isOverridden = objects.some(
    ({ kind, metadata }) => kind === "ConfigMap" && metadata.name === `net-${component}`,
  );
  return settingsOf(isOverridden ? objects.map(renamed) : objects, component);
}

function renamed(object: KubernetesObject): KubernetesObject {
  return {
    ...object,
    metadata: { ...object.metadata, name: object.metadata.name.replace(/^net-/, "isochrone-") },
  };
}

export function workloadOf(objects: readonly KubernetesObject[], component: string): KubernetesObject | null {
  const kinds = ["DaemonSet", "StatefulSet", "Deployment"];
  return (
    objects.find(
      ({ kind, metadata }) =>
        kinds.includes(kind) && metadata.name.replace(/^(net|isochrone)-/, "") === component,
    ) ?? null
  );
}

export function environmentOf(workload: KubernetesObject): Record<string, string> {
  const [container] = podSpecOf(workload)!.containers;
  return Object.fromEntries(
    (container!.env ?? []).map(({ name, value, valueFrom }) => {
      const path = valueFrom?.fieldRef?.fieldPath;
      return [
        name,
        path === undefined ? value!.replace("$(POD_IP)", FIELDS["status.podIP"]!) : FIELDS[path]!,
      ];
    }),
  );
}

interface Source {
  readonly secret?: { readonly items?: readonly { readonly path: string }[] } | undefined;
  readonly configMap?: { readonly items: readonly { readonly path: string }[] };
  readonly serviceAccountToken?: { readonly path: string };
}

export function mountedBy(workload: KubernetesObject): string[] {
  const { containers, volumes = [] } = podSpecOf(workload)!;
  const mounts = (containers[0] as unknown as { volumeMounts: { name: string; mountPath: string }[] })
    .volumeMounts;
  return mounts.flatMap(({ name, mountPath }) => {
    const volume = volumes.find((one) => one["name"] === name) as
      | { projected?: { sources: Source[] }; secret?: Source["secret"] }
      | undefined;
    if (volume === undefined) return [];
    const sources: readonly Source[] = volume.projected?.sources ?? [{ secret: volume.secret }];
    return sources.flatMap(({ secret, configMap, serviceAccountToken }) => [
      ...(configMap?.items.map(({ path }) => `${mountPath}/${path}`) ?? []),
      ...(serviceAccountToken === undefined ? [] : [`${mountPath}/${serviceAccountToken.path}`]),
      ...(secret === undefined
        ? []
        : (secret.items?.map(({ path }) => path) ?? ["ca.crt", "tls.crt", "tls.key"]).map(
            (path) => `${mountPath}/${path}`,
          )),
    ]);
  });
}
