import { render } from "preact";
import { App } from "./app.tsx";
import { start } from "./state/store.ts";

const place = document.getElementById("app")!;
place.replaceChildren();
render(<App />, place);
start();
