#!/bin/sh
# The hook of pre-commit: installs the release of the hook's rev beside this script, once, and runs it. For a rev
# that is not a release, it uses the batchctl in PATH.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# pre-commit fetches only the rev, without its tag. The tag's name is in FETCH_HEAD. If the rev is a commit, as
# "pre-commit autoupdate --freeze" writes it, the origin knows the tag, and later the folder of the release.
version=$(
	cd "$here"
	head=$(git rev-parse HEAD 2>/dev/null) || exit 0
	git describe --tags --exact-match 2>/dev/null && exit
	if [ "$head" = "$(git rev-parse --verify --quiet 'FETCH_HEAD^{commit}')" ]; then
		tag=$(sed -n "s/^[0-9a-f]*[[:blank:]]*tag '\([^']*\)' of .*/\1/p" "$(git rev-parse --git-path FETCH_HEAD)")
		[ -z "$tag" ] || { echo "$tag" && exit; }
	fi
	for folder in .bin/v*; do
		[ ! -d "$folder" ] || { basename "$folder" && exit; }
	done
	git ls-remote --tags origin 'v*' 2>/dev/null |
		awk -v head="$head" '$1 == head { tag = substr($2, 11); if (i = index(tag, "^")) tag = substr(tag, 1, i - 1); print tag; exit }'
)
case $version in
v*)
	bin=$here/.bin/$version
	PATH=$bin:$PATH
	[ -x "$bin/batchctl" ] || [ -x "$bin/batchctl.exe" ] || sh "$here/install.sh" "$bin" "$version"
	;;
*)
	command -v batchctl >/dev/null || {
		echo "batchctl-validate: rev is not a release, and batchctl is not in PATH: set rev to a release such as v1.2.3, or install batchctl" >&2
		exit 1
	}
	;;
esac
exec batchctl "$@"
