// The pages in the order of the navigation. `key`: g and this letter goes there.
import { Overview } from "./overview.js";
import { Search } from "./search.js";
import { Topics } from "./topics.js";

export const PAGES = [
  { name: "overview", title: "Overview", icon: "◉", key: "o", component: Overview },
  { name: "topics", title: "Topics", icon: "≡", key: "t", component: Topics },
  { name: "search", title: "Search", icon: "⌕", key: "s", component: Search },
];
