/** Unverified claims of a JSON Web Token. */
interface TokenClaims {
  /** Audiences of the token. Null: it names none. */
  readonly audiences: readonly string[] | null;
  /** Expiry, ms since the epoch. Null: the token doesn't expire. */
  readonly expiresAtMs: number | null;
}

const MAX_PAYLOAD_CHARACTERS = 16_384;

export function readClaims(token: string): TokenClaims | null {
  const parts = token.split(".", 4);
  const payload = parts[1] ?? "";
  if (parts.length !== 3 || payload.length > MAX_PAYLOAD_CHARACTERS) return null;
  try {
    const claims: { aud?: unknown; exp?: unknown } | null = JSON.parse(
      Buffer.from(payload, "base64url").toString("utf8"),
    );
    if (typeof claims !== "object" || claims === null) return null;
    const { aud, exp } = claims;
    return {
      audiences: audiencesOf(aud),
      expiresAtMs: typeof exp === "number" && Number.isFinite(exp) ? exp * 1000 : null,
    };
  } catch {
    return null;
  }
}

function audiencesOf(aud: unknown): string[] | null {
  if (typeof aud === "string") return [aud];
  return Array.isArray(aud) ? aud.filter((each) => typeof each === "string") : null;
}
