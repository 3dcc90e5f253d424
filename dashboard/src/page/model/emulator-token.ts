// The token of the emulator's controls in the page's address, placed there by `isochrone up`. Pure.

const PARAMETER = "emulator";
const TOKEN = /^[\w-]{16,200}$/;

export function isToken(text: string): boolean {
  return TOKEN.test(text);
}

/** Returns the fragment without the token, so that it stays out of history and shared addresses. */
export function withoutToken(fragment: string): { readonly fragment: string; readonly token: string | null } {
  const mark = fragment.indexOf("?");
  if (mark < 0) return { fragment, token: null };
  const query = new URLSearchParams(fragment.slice(mark + 1));
  const token = query.get(PARAMETER);
  if (token === null) return { fragment, token: null };
  query.delete(PARAMETER);
  const rest = query.toString();
  return {
    fragment: fragment.slice(0, mark) + (rest === "" ? "" : `?${rest}`),
    token,
  };
}
