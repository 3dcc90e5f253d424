/**
 * Keeps count of the pods that a constraint is about, so that a node is admitted or not in constant time. A
 * pod that the rule isn't about MUST NOT be shown to it.
 */
export interface Rule {
  readonly name: string;
  /** The pod is on no node before. */
  add(pod: number, node: number): void;
  remove(pod: number, node: number): void;
  /**
   * Whether the pod, which is on no node, may go there. With `strict` the whole rule must hold afterwards;
   * without it only the pod's own part, so that pods that were taken out can be put back one by one.
   */
  admits(pod: number, node: number, strict: boolean): boolean;
  /** Whether the rule holds for the pods that have a node, and can still hold with the others. */
  holds(): boolean;
}

/** What pods are to a rule, by pod. */
export interface Roles {
  readonly subject: Uint8Array;
  readonly member: Uint8Array;
}

export function rolesOf(
  podCount: number,
  { subjects, members }: { readonly subjects: readonly number[]; readonly members: readonly number[] },
): Roles {
  const subject = new Uint8Array(podCount);
  const member = new Uint8Array(podCount);
  for (const pod of subjects) subject[pod] = 1;
  for (const pod of members) member[pod] = 1;
  return { subject, member };
}
