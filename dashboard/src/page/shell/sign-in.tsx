import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { enterToken, signIn } from "../state/session.ts";

export function SignIn({ onToken }: { readonly onToken: () => void }): VNode {
  const input = useRef<HTMLInputElement>(null);
  const { mistake } = signIn.value;
  useEffect(() => {
    // Does not steal the focus.
    if (document.activeElement === null || document.activeElement === document.body) input.current?.focus();
  }, []);
  return (
    <form
      id="token-form"
      class="card"
      onSubmit={(event) => {
        event.preventDefault();
        const entered = input.current!.value;
        input.current!.value = "";
        if (enterToken(entered)) onToken();
      }}
    >
      <h2>Sign in</h2>
      <label for="token">Token</label>
      <p class="entry">
        <input
          id="token"
          ref={input}
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          aria-invalid={mistake !== ""}
          aria-describedby="token-mistake token-hint"
        />
        <button class="primary">Sign in</button>
      </p>
      <p id="token-mistake" class="error" role="alert">
        {mistake}
      </p>
      <p id="token-hint" class="soft">
        A service account's token for this server, for example what{" "}
        <code>kubectl create token ACCOUNT --audience isochrone</code> prints. It is kept in this tab only.
      </p>
    </form>
  );
}
