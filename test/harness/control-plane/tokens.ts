import { randomUUID } from "node:crypto";
import type { KubernetesObject, ObjectRef } from "@isochrone/kubernetes";

export interface ServiceAccountRef {
  readonly namespace: string;
  readonly name: string;
}

export interface ServiceAccountToken {
  readonly token: string;
  readonly expiresMs: number;
  /**
   * It is refused from then on, as an expired one; up to 10 s later, for the API server remembers whom it has
   * let in.
   */
  readonly revoke: () => Promise<void>;
}

export interface TokenOptions {
  /** @default the API server's */
  readonly audiences?: readonly string[];
  /** The API server's least is 600. @default 86,400 */
  readonly validForSeconds?: number;
  /**
   * A pod of the account, whose name and node the token then says, as a projected token does.
   * @default a Secret
   */
  readonly pod?: { readonly name: string; readonly uid: string };
}

interface Cluster {
  create(object: KubernetesObject): Promise<KubernetesObject[]>;
  request<T>(method: string, path: string, body: object): Promise<T>;
  remove(ref: ObjectRef): Promise<void>;
}

const DAY_SECONDS = 86_400;

/** Of an account that is there. */
export async function requestToken(
  cluster: Cluster,
  { namespace, name }: ServiceAccountRef,
  { audiences, validForSeconds = DAY_SECONDS, pod }: TokenOptions,
): Promise<ServiceAccountToken> {
  // Deleting what it is bound to is the only way to end a token before its time.
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
