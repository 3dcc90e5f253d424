/** Whether a part of the harness can run here, so that a suite can be skipped with a reason. */
export type Support = { readonly supported: true } | { readonly supported: false; readonly reason: string };

/** @throws Error when `CI` is set: there a missing prerequisite must not pass for a skipped test */
export function supportFrom(what: string, missing: readonly string[]): Support {
  if (missing.length === 0) return { supported: true };
  const reason = `${what} can't run here: ${missing.join("; ")}`;
  if (process.env["CI"] !== undefined) throw new Error(reason);
  return { supported: false, reason };
}
