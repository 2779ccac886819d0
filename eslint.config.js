// What the page's scripts are held to, by `./run check`.

const browser = [
  ..."AbortController AbortSignal Audio BroadcastChannel CustomEvent Element Event EventSource".split(
    " ",
  ),
  ..."Blob EventTarget FormData HTMLElement HTMLMediaElement Image IntersectionObserver Intl".split(
    " ",
  ),
  ..."MediaMetadata MutationObserver Node ResizeObserver Response URL URLSearchParams".split(" "),
  ..."cancelAnimationFrame clearInterval clearTimeout confirm console crypto devicePixelRatio".split(
    " ",
  ),
  ..."document fetch getComputedStyle history innerHeight innerWidth localStorage location".split(
    " ",
  ),
  ..."matchMedia navigator performance queueMicrotask requestAnimationFrame scrollTo".split(" "),
  ..."sessionStorage setInterval setTimeout structuredClone window".split(" "),
];

export default [
  {
    files: ["src/bandstand/web/static/**/*.js"],
    ignores: ["**/vendor/**"],
    languageOptions: {
      ecmaVersion: 2023,
      globals: Object.fromEntries(browser.map((name) => [name, "readonly"])),
    },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "array-callback-return": "error",
      "consistent-return": "off", // a page may end early
      eqeqeq: "error",
      "no-alert": "error",
      "no-console": "error",
      "no-const-assign": "error",
      "no-constant-condition": "error",
      "no-dupe-keys": "error",
      "no-eval": "error",
      "no-fallthrough": "error",
      "no-implicit-globals": "error",
      "no-implied-eval": "error",
      "no-promise-executor-return": "off",
      "no-self-assign": "error",
      "no-shadow": "error",
      "no-template-curly-in-string": "error",
      "no-undef": "error",
      "no-unreachable": "error",
      "no-unused-expressions": ["error", { allowShortCircuit: true, allowTernary: true }],
      "no-unused-vars": "error",
      "no-use-before-define": ["error", { functions: false, variables: false, classes: false }],
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
      "prefer-template": "error",
      complexity: ["error", 12],
      "max-lines": ["error", 350],
      "max-lines-per-function": ["error", 70],
    },
  },
];
