/**
 * Tracks a constraint's pods, so that `admits` takes constant time. Callers MUST pass only pods that the rule
 * concerns.
 */
export interface Rule {
  readonly name: string;
  /** Adds a pod, which must be unplaced. */
  add(pod: number, node: number): void;
  remove(pod: number, node: number): void;
  /**
   * Whether the unplaced pod may go there. `strict`: the whole rule must hold; otherwise only the pod's own
   * part, so that removed pods can return one by one.
   */
  admits(pod: number, node: number, strict: boolean): boolean;
  holds(): boolean;
}

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
