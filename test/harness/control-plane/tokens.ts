import { randomUUID } from "node:crypto";
import type { KubernetesObject, ObjectRef } from "@isochrone/kubernetes";

export interface ServiceAccountRef {
  readonly namespace: string;
  readonly name: string;
}

export interface ServiceAccountToken {
  readonly token: string;
  readonly expiresMs: number;
  /** Revokes the token. The API server's cache may accept it for up to 10 s. */
  readonly revoke: () => Promise<void>;
}

export interface TokenOptions {
  /** @default the API server's */
  readonly audiences?: readonly string[];
  /** Lifetime; the API server's minimum is 600. @default 86,400 */
  readonly validForSeconds?: number;
  /** Pod to bind the token to, like a projected token. @default a Secret */
  readonly pod?: { readonly name: string; readonly uid: string };
}

interface Cluster {
  create(object: KubernetesObject): Promise<KubernetesObject[]>;
  request<T>(method: string, path: string, body: object): Promise<T>;
  remove(ref: ObjectRef): Promise<void>;
}

const DAY_SECONDS = 86_400;

export async function requestToken(
  cluster: Cluster,
  { namespace, name }: ServiceAccountRef,
  { audiences, validForSeconds = DAY_SECONDS, pod }: TokenOptions,
): Promise<ServiceAccountToken> {
  // Deleting the bound object is the only way to revoke a token early.
  const bound =
    pod === undefined
      ? await secretFor(cluster, `token-of-${name}-${randomUUID()}`, namespace)
      : { apiVersion: "v1", kind: "Pod", ...pod };
  const { status } = await cluster.request<{ status: { token: string; expirationTimestamp: string } }>(
    "POST",
    `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
    {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: {
        ...(audiences === undefined ? {} : { audiences }),
        expirationSeconds: validForSeconds,
        boundObjectRef: bound,
      },
    },
  );
  return {
    token: status.token,
    expiresMs: Date.parse(status.expirationTimestamp),
    revoke: () => cluster.remove({ apiVersion: "v1", kind: bound.kind, name: bound.name, namespace }),
  };
}

async function secretFor(
  cluster: Cluster,
  name: string,
  namespace: string,
): Promise<{ apiVersion: string; kind: string; name: string; uid: string | undefined }> {
  const secret = { apiVersion: "v1", kind: "Secret", name };
  const [created] = await cluster.create({ ...secret, metadata: { name, namespace } });
  return { ...secret, uid: created!.metadata.uid };
}
