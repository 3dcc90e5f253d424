import type { KubernetesObject } from "@isochrone/kubernetes";
import { parse } from "yaml";

interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
  }[];
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string>>;
    readonly limits?: Readonly<Record<string, string>>;
  };
  readonly securityContext?: Readonly<Record<string, unknown>>;
}

interface PodSpec {
  readonly serviceAccountName: string;
  readonly automountServiceAccountToken?: boolean;
  readonly enableServiceLinks?: boolean;
  readonly hostNetwork?: boolean;
  readonly containers: readonly Container[];
  readonly securityContext?: Readonly<Record<string, unknown>>;
  readonly volumes?: readonly Readonly<Record<string, unknown>>[];
}

/** Returns the single object of that kind and name. @throws Error for none or several */
export function only(objects: readonly KubernetesObject[], kind: string, name: string): KubernetesObject {
  const found = objects.filter((object) => object.kind === kind && object.metadata.name === name);
  if (found.length === 1) return found[0]!;
  throw new Error(`${found.length} objects of the kind ${kind} are called ${name}, not one`);
}

function annotationOf(object: KubernetesObject, name: string): string | undefined {
  return object.metadata.annotations?.[name];
}

export function isHook(object: KubernetesObject): boolean {
  return annotationOf(object, "helm.sh/hook") !== undefined;
}

/** Pod spec of a Pod or template. Null: the object has none. */
export function podSpecOf(object: KubernetesObject): PodSpec | null {
  if (object.kind === "Pod") return object.spec as unknown as PodSpec;
  const template = object.spec?.["template"] as { readonly spec: PodSpec } | undefined;
  return template?.spec ?? null;
}

export function settingsOf(
  objects: readonly KubernetesObject[],
  component: string,
): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  const map = only(objects, "ConfigMap", `isochrone-${component}`);
  return parse((map["data"] as Record<string, string>)["isochrone.yaml"]!) as Readonly<
    Record<string, Readonly<Record<string, unknown>>>
  >;
}

/** Every text below /etc/isochrone/. For the directory of replica files, the files read from it. */
export function chartFilesIn(settings: ReturnType<typeof settingsOf>): string[] {
  const { replicaFilesDirectory, access } = settings["scheduler"] ?? {};
  const ofReplicas = access === "none" ? ["ca.crt"] : ["ca.crt", "tls.crt", "tls.key"];
  return [...JSON.stringify(settings).matchAll(/"(\/etc\/isochrone\/[^"]+)"/g)].flatMap(([, path]) =>
    path === replicaFilesDirectory ? ofReplicas.map((name) => `${path}/${name}`) : [path!],
  );
}
