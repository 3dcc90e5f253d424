// The two questions that are put to the API server.
import { createHash } from "node:crypto";
import { KINDS, type ClusterStore, type KubernetesObject } from "../port.ts";
import type { Verdict } from "./verdict-cache.ts";

/** Who a token stands for. */
export interface Account {
  readonly user: string;
  readonly uid: string | null;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
  /** Another one for accounts that differ in anything. */
  readonly key: string;
}

/**
 * Extra attributes that tell pods and tokens of one service account apart (pod-name, node-name, credential-id and so on). Rights are not
 * given by them, and without them one review answers for all pods of a DaemonSet.
 */
const OF_ONE_TOKEN = "authentication.kubernetes.io/";

/** Whether the API server knows the token, for this audience. Rejects with what the store rejects with. */
export async function reviewToken(
  store: ClusterStore,
  token: string,
  audience: string,
): Promise<Verdict<Account>> {
  const answer = await store.create({
    ...KINDS.tokenReview,
    metadata: { name: "" },
    spec: { token, audiences: [audience] },
  });
  const { authenticated, user, audiences, error } = answer.status ?? {};
  if (authenticated !== true)
    return { denied: typeof error === "string" && error !== "" ? error : "not authenticated" };
  // An authenticator that knows nothing of audiences answers without them: such a token is for the API server alone.
  if (!Array.isArray(audiences) || !audiences.includes(audience))
    return { denied: `not for audience ${audience}` };
  const account = readAccount(user);
  return account === null ? { denied: "of a user without a name" } : { granted: account };
}

/** Whether the account may do this. Rejects with what the store rejects with. */
export async function reviewAccess(
  store: ClusterStore,
  account: Account,
  attributes: { readonly verb: string; readonly path: string },
): Promise<Verdict<true>> {
  const { user, uid, groups, extra } = account;
  const answer: KubernetesObject = await store.create({
    ...KINDS.subjectAccessReview,
    metadata: { name: "" },
    spec: { nonResourceAttributes: attributes, user, groups, extra, ...(uid === null ? {} : { uid }) },
  });
  const { allowed, reason } = answer.status ?? {};
  if (allowed === true) return { granted: true };
  return { denied: typeof reason === "string" ? reason : "" };
}

function readAccount(value: unknown): Account | null {
  const { username, uid, groups, extra } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof username !== "string" || username === "") return null;
  const described = {
    user: username,
    uid: typeof uid === "string" && uid !== "" ? uid : null,
    groups: textsOf(groups).toSorted(),
    extra: readExtra(extra),
  };
  return { ...described, key: createHash("sha256").update(JSON.stringify(described)).digest("base64url") };
}

function readExtra(extra: unknown): Record<string, string[]> {
  return Object.fromEntries(
    Object.entries((extra ?? {}) as Readonly<Record<string, unknown>>)
      .filter(([name]) => !name.startsWith(OF_ONE_TOKEN))
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, values]) => [name, textsOf(values)]),
  );
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
