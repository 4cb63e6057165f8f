# The first part of both programs that run in a child: it computes the number of the
# child's cell from the index, and the text of the document. cells.sh or lines.sh follows.
# Jobs get this text without comments and indentation, with one-letter names (program.go).
#
# It runs before anything of the user's, in whatever shell the image calls sh: dash,
# busybox, bash in POSIX mode. It uses what is built into every sh, so it needs
# nothing of the image. Kubernetes replaces $(NAME) in a command and makes one dollar
# sign of two, and Batch replaces Ref::name. So this program contains none of these, and
# reads the output of a command with backquotes.
#
# The user's program must find its environment as it was, so all names of this program
# begin with _ and none is exported; options and IFS end with exec. The document is cut
# into lines once, by IFS, which is why none of its lines is empty.
#
# Child in child.go does the same, with the same messages and exit codes. doc.go has
# the document's format.

_say() { printf 'batchctl: %s\n' "$1" >&2; }
_end() {
	_say "$1"
	exit ${2-64}
}
# Numbers have no sign, no leading zero (the shell would read octal) and 7 digits at
# most. _bad is what to say of anything else.
_numbers() {
	for _v; do
		case $_v in ''|*[!0-9]*|0?*|????????*) _end "$_bad" ;; esac
	done
}
# "3" or "3-5": from _from, _many of them.
_range() {
	_from=${1%%-*}
	_numbers "$_from" "${1#*-}"
	_many=$((${1#*-}-_from+1))
	[ $_many -gt 0 ] || _end "$_bad"
}
# Lines, the last one also without its end, in the format $1.
_lines() {
	while IFS= read -r _line || [ "$_line" ]; do
		printf "$1\n" "$_line"
	done
}
# Reads the text at a path or URL into _text. Backquotes drop the line breaks at the end,
# so a slash follows the text.
_get() {
	_bad="cannot read $1"
	case $1 in
	/*) _text=`_lines %s <"$1" && echo /` ;;
	s3:*)
		command -v aws >/dev/null || _end "$_bad: there is no aws; install the AWS CLI in the image, or use the launcher batchctl" 127
		_text=`aws s3 cp "$1" - && echo /`
		;;
	*) false ;;
	esac || _end "$_bad"
	_text=${_text%/}
}

set -f
_index=${AWS_BATCH_JOB_ARRAY_INDEX:-0}
_cell=$_index
_bad="AWS_BATCH_JOB_ARRAY_INDEX is no index: $_index"
_numbers "$_index"
case $BATCHCTL_CELLS in ?*)
	_k=$_index
	_cell=
	_bad="BATCHCTL_CELLS is damaged: $BATCHCTL_CELLS"
	for _v in $BATCHCTL_CELLS; do
		_range "$_v"
		[ $_k -lt $_many ] && _cell=$((_from+_k)) && break
		_k=$((_k-_many))
	done
	[ "$_cell" ] || _end "BATCHCTL_CELLS has no cell for index $_index"
	;;
esac

_nl='
'
_ifs=$IFS
IFS=$_nl
_text=$BATCHCTL_ARRAY
_v=BATCHCTL_ARRAY
case $_text in '')
	_v=$BATCHCTL_ARRAY_URL
	[ "$_v" ] || _end "neither BATCHCTL_ARRAY nor BATCHCTL_ARRAY_URL is set: submit the job with batchctl"
	_get "$_v"
	;;
esac
_bad="$_v holds no whole document of version 1: submit the job again"
case ${_text%"$_nl"} in "batchctl array 1$_nl"*"${_nl}end") ;; *) _end "$_bad" ;; esac
# The line of the kind is the second one; its number is that of the cells.
_size=${_text#*"$_nl"}
_size=${_size%%"$_nl"*}
_size=${_size#* }
_numbers "$_size"
[ $_cell -lt $_size ] || _end "there is no cell $_cell: the array has $_size"
export BATCHCTL_CELL=$_cell AWS_BATCH_JOB_ARRAY_INDEX=$_cell
