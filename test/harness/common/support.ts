export type Support = { readonly supported: true } | { readonly supported: false; readonly reason: string };

/** @throws Error if `CI` is set, so that a missing prerequisite can't hide as a skipped test */
export function supportFrom(what: string, missing: readonly string[]): Support {
  if (missing.length === 0) return { supported: true };
  const reason = `${what} can't run here: ${missing.join("; ")}`;
  if (process.env["CI"] !== undefined) throw new Error(reason);
  return { supported: false, reason };
}
